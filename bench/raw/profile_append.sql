with written as (
  insert into bench.memory as memory (org, namespace, agent, user_id, memory_key, memory_type, value,
    content_sha256, value_length, version)
  values (%(org)s, %(namespace)s, %(agent)s, %(user_id)s, %(label)s, 'profile',
    to_jsonb(%(addition)s::text),
    encode(sha256(convert_to(to_jsonb(%(addition)s::text)::text, 'UTF8')), 'hex'),
    char_length(to_jsonb(%(addition)s::text)::text), 1)
  on conflict (org, namespace, memory_key, user_id, session_id, agent) do update
  set (value, content_sha256, value_length) = (
      select made, encode(sha256(convert_to(made::text, 'UTF8')), 'hex'), char_length(made::text)
      from to_jsonb((memory.value #>> '{}') || E'\n' || (excluded.value #>> '{}')) as made
    ), version = memory.version + 1, recorded_at = excluded.recorded_at, author = excluded.author
  returning *
), kept as (
  insert into bench.memory_version (org, memory_id, version, namespace, user_id, value, content_sha256,
    value_length, tags, confidence, source_class, recorded_at, author)
  select org, memory_id, version, namespace, user_id, value, content_sha256, value_length, tags,
    confidence, source_class, recorded_at, author
  from written
)
select memory_key, memory_id, version, content_sha256, value_length, char_limit, recorded_at from written
