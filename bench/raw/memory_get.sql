select memory_key, memory_id, version, value, content_sha256, value_length, char_limit, memory_type, tags,
  confidence, source_class, source_trace, valid_at, valid_to, expires_at, pinned, recorded_at, created_at
from bench.memory
where org = %(org)s and namespace = %(namespace)s and memory_key = %(memory_key)s
  and user_id = %(user_id)s and session_id = '-' and agent = %(agent)s and deleted_at is null
  and (expires_at is null or expires_at > now())
