insert into bench.block as block
  (org, namespace, agent, user_id, block_key, content, version, value_length, content_sha256)
values (%(org)s, %(namespace)s, %(agent)s, %(user_id)s, %(block_key)s, %(content)s::text, 1,
  char_length(%(content)s::text), encode(sha256(convert_to(%(content)s::text, 'UTF8')), 'hex'))
on conflict (org, namespace, agent, user_id, session_id, run_id, block_key) do update
set content = excluded.content, version = block.version + 1, value_length = excluded.value_length,
  content_sha256 = excluded.content_sha256, updated_at = excluded.updated_at,
  updated_by = excluded.updated_by, deleted_at = null
returning block_key, version, content_sha256, value_length, char_limit, updated_at
