-- Reference data, applied together with the functions it names: what can be called, and the errors.
-- `identity` are the fields that say whose data is meant; `fields` are the operation's own.

delete from loom.operation;
insert into loom.operation (op, function_name, role, mode, identity, fields) values
  ('working_memory.set', 'working_memory_set', 'writer', 'write',
    '{org,namespace,agent,user_id,session_id,run_id}',
    '{content,block_key,char_limit,if_match_sha256,if_absent,description,read_only}'),
  ('working_memory.append', 'working_memory_append', 'writer', 'write',
    '{org,namespace,agent,user_id,session_id,run_id}',
    '{addition,separator,block_key,if_match_sha256}'),
  ('working_memory.replace', 'working_memory_replace', 'writer', 'write',
    '{org,namespace,agent,user_id,session_id,run_id}',
    '{old,new,block_key,expected_count,if_match_sha256}'),
  ('working_memory.delete', 'working_memory_delete', 'writer', 'write',
    '{org,namespace,agent,user_id,session_id,run_id}',
    '{block_key,if_match_sha256}'),
  ('working_memory.get', 'working_memory_get', 'viewer', 'read',
    '{org,namespace,agent,user_id,session_id,run_id}',
    '{block_key}'),
  ('working_memory.list', 'working_memory_list', 'viewer', 'read',
    '{org,namespace,agent,user_id,session_id,run_id}',
    '{limit,cursor,include_deleted}'),
  ('working_memory.render', 'working_memory_render', 'viewer', 'read',
    '{org,namespace,agent,user_id,session_id,run_id}',
    '{block_keys,limit,format,layered,if_none_match}'),
  ('namespace.list', 'namespace_list', 'viewer', 'read', '{org}', '{limit,cursor}'),
  ('namespace.get', 'namespace_get', 'viewer', 'read', '{org,namespace}', '{}'),
  ('namespace.update', 'namespace_update', 'admin', 'write', '{org,namespace}',
    '{night_weaving,quiet_minutes,weaver_model,text_search_language}'),
  ('token.mint', 'token_mint', 'admin', 'write', '{org}',
    '{role,namespace,read_user_id,session_id,label,ttl_seconds}'),
  ('token.list', 'token_list', 'admin', 'read', '{org}', '{limit,cursor}'),
  ('token.revoke', 'token_revoke', 'admin', 'write', '{org}', '{token_id}'),
  ('batch', 'batch', 'viewer', 'write', '{org}', '{requests,atomic}');
update loom.operation set batchable = false where op in ('batch', 'token.mint');

delete from loom.error_code;
insert into loom.error_code (sqlstate, code, http_status, category, retryable) values
  ('LM001', 'INVALID_REQUEST', 400, 'bad_request', false),
  ('LM002', 'INVALID_TEXT', 422, 'bad_request', false),
  ('LM003', 'IDENTITY_INCOMPLETE', 400, 'bad_request', false),
  ('LM004', 'UNKNOWN_OPERATION', 404, 'bad_request', false),
  ('LM101', 'WORKING_MEMORY_BLOCK_NOT_FOUND', 404, 'not_found', false),
  ('LM201', 'STALE_WRITE', 409, 'conflict', true),
  ('LM202', 'ALREADY_EXISTS', 409, 'conflict', false),
  ('LM203', 'COUNT_MISMATCH', 409, 'conflict', false),
  ('LM205', 'LOCKED', 423, 'conflict', false),
  ('LM206', 'IDEMPOTENCY_CONFLICT', 409, 'conflict', false),
  ('LM301', 'AUTH_REQUIRED', 401, 'not_allowed', false),
  ('LM302', 'AUTH_INSUFFICIENT', 403, 'not_allowed', false),
  ('LM401', 'WORKING_MEMORY_LIMIT_EXCEEDED', 422, 'limit', false),
  ('LM403', 'SUBSTRING_NOT_FOUND', 422, 'limit', false),
  ('LM406', 'LIMIT_EXCEEDED', 422, 'limit', false),
  ('LM408', 'PAYLOAD_TOO_LARGE', 413, 'limit', false);
