-- Facts of the first schema: a third of them is in its second version.
insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key, memory_type, value,
  content_sha256, value_length, char_limit, source_class, version, recorded_at, changed_at,
  author, actor, created_at, created_by)
select %(org)s, %(namespace)s, 'agent', 'user-' || n %% %(users)s, '-', 'fact-' || n / %(users)s,
  (array['semantic', 'preference', 'decision', 'episodic'])[n %% 4 + 1], value, loom._sha256(value::text),
  char_length(value::text), 262144, 'stated', 1 + (n %% 3 = 0)::integer, now(), now(), 'fill', 'fill', now(), 'fill'
from generate_series(0, %(rows)s - 1) as n
cross join lateral (select to_jsonb('They said so at time ' || n || ', and more besides.') as value) as said
