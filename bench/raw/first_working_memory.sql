-- Blocks of the first schema, so many a user.
insert into loom.working_memory (org, namespace, agent, user_id, session_id, run_id, block_key,
  content, char_limit, version, created_at, created_by, updated_at, updated_by)
select %(org)s, %(namespace)s, 'agent', 'user-' || n %% %(users)s, '-', '-', 'block-' || n / %(users)s,
  'What was done in step ' || n || '. ' || repeat('It went well. ', 10), 4096, 1,
  now(), 'fill', now(), 'fill'
from generate_series(0, %(rows)s - 1) as n
