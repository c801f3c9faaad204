-- All versions of the facts.
insert into loom.memory_version (org, memory_id, version, namespace, user_id, change, value_version, value,
  content_sha256, value_length, char_limit, memory_type, tags, confidence, source_class, pinned,
  sensitivity, recorded_at, changed_at, author, actor)
select org, memory_id, n, namespace, user_id, 'set', n, value, content_sha256, value_length, char_limit,
  memory_type, tags, confidence, source_class, pinned, sensitivity, recorded_at, changed_at, author, actor
from loom.memory as fact, generate_series(1, fact.version) as n
