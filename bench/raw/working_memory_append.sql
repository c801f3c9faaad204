insert into bench.block as block
  (org, namespace, agent, user_id, block_key, content, version, value_length, content_sha256)
values (%(org)s, %(namespace)s, %(agent)s, %(user_id)s, %(block_key)s, %(addition)s::text, 1,
  char_length(%(addition)s::text), encode(sha256(convert_to(%(addition)s::text, 'UTF8')), 'hex'))
on conflict (org, namespace, agent, user_id, session_id, run_id, block_key) do update
set content = block.content || E'\n' || excluded.content, version = block.version + 1,
  value_length = block.value_length + 1 + excluded.value_length,
  content_sha256 = encode(sha256(convert_to(block.content || E'\n' || excluded.content, 'UTF8')), 'hex'),
  updated_at = excluded.updated_at, updated_by = excluded.updated_by
returning block_key, version, content_sha256, value_length, char_limit, updated_at
