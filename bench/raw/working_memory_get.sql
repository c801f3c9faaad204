select block_key, version, content, content_sha256, value_length, char_limit, description, read_only,
  updated_at
from bench.block
where org = %(org)s and namespace = %(namespace)s and agent = %(agent)s and user_id = %(user_id)s
  and session_id = '-' and run_id = '-' and block_key = %(block_key)s and deleted_at is null
