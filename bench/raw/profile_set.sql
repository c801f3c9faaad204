with given as (
  select to_jsonb(%(value)s::text) as value,
    encode(sha256(convert_to(to_jsonb(%(value)s::text)::text, 'UTF8')), 'hex') as content_sha256
), written as (
  insert into bench.memory as memory (org, namespace, agent, user_id, memory_key, memory_type, value,
    content_sha256, value_length, version)
  select %(org)s, %(namespace)s, %(agent)s, %(user_id)s, %(label)s, 'profile', value,
    content_sha256, char_length(value::text), 1
  from given
  on conflict (org, namespace, memory_key, user_id, session_id, agent) do update
  set value = excluded.value, content_sha256 = excluded.content_sha256,
    value_length = excluded.value_length, version = memory.version + 1,
    recorded_at = excluded.recorded_at, author = excluded.author, deleted_at = null
  returning *
), kept as (
  insert into bench.memory_version (org, memory_id, version, namespace, user_id, value, content_sha256,
    value_length, tags, confidence, source_class, recorded_at, author)
  select org, memory_id, version, namespace, user_id, value, content_sha256, value_length, tags,
    confidence, source_class, recorded_at, author
  from written
)
select memory_key, memory_id, version, content_sha256, value_length, char_limit, recorded_at from written
