create or replace function loom._request_hash(p_request jsonb, p_caller loom.caller) returns bigint[]
language plpgsql immutable
as $$
declare
  v_request jsonb := p_request - '_caller' || jsonb_strip_nulls(jsonb_build_object(
    'org', p_caller.org, 'namespace', p_caller.namespace, 'agent', p_caller.agent,
    'user_id', p_caller.user_id, 'session_id', p_caller.session_id, 'run_id', p_caller.run_id));
  v_sizes bigint[];
begin
  -- Each list and object is taken out below, so that thousands inside each other would take gigabytes.
  if jsonb_path_exists(v_request, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")') then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', null, 'reason', 'is nested deeper than 64')::text,
      hint = 'Send a flatter request.';
  end if;
  -- The server's hash of a jsonb passes over where lists and objects end: {"a": {}, "b": 1} and
  -- {"a": {"b": 1}} have the same. How many members each has tells them apart. One at a time: all
  -- of them in one list would hold what is inside many times over.
  select array_agg(case jsonb_typeof(part) when 'array' then jsonb_array_length(part)
    else (select count(*) from jsonb_object_keys(part)) end) into v_sizes
  from (
    select jsonb_path_query(v_request, 'strict $.** ? (@.type() == "object" || @.type() == "array")') as part
  ) as parts;
  -- Not by way of text: a jsonb number of seven characters can print as a hundred thousand. The
  -- server keeps these hashes stable over versions, since hash partitioning stores by them.
  return array[jsonb_hash_extended(v_request, 1), jsonb_hash_extended(v_request, 2),
    hash_array_extended(v_sizes, 1)];
end
$$;
comment on function loom._request_hash(jsonb, loom.caller) is
  'Hash of a request after the bounds and defaults of its token are laid over it: 128 bits of its content, 64 of its shape. LM001 when it is nested deeper than 64.';
