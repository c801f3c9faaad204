-- A client role may execute the operations of its rank and what is named here, nothing else.
select p.oid::regprocedure::text as object, client.role || ' may execute it' as finding
from pg_catalog.pg_proc p
cross join (values
  ('loom_gateway', array['call', 'embedding_progress', 'health', 'work_metrics']),
  ('loom_worker', array['embedding_advance', 'embedding_claim', 'embedding_fail', 'embedding_places',
    'embedding_progress', 'embedding_store', 'health', 'housekeeping', 'housekeeping_looms', 'housekeeping_model_calls', 'housekeeping_memory', 'housekeeping_search', 'user_profile_claim',
    'user_profile_complete', 'user_profile_due', 'user_profile_fail', 'weaving_apply', 'weaving_claim', 'weaving_due', 'weaving_finish',
    'weaving_read', 'weaving_used', 'work_claim', 'work_complete', 'work_due',
    'work_fail', 'work_fail_namespace', 'work_read', 'work_used', 'worker_beat', 'worker_bell_set', 'worker_gone']),
  ('loom_operator', array['health']),
  ('loom_viewer', array['execute', 'batch']),
  ('loom_writer', array['execute', 'batch']),
  ('loom_admin', array['execute', 'batch'])
) as client (role, besides)
where p.pronamespace = 'loom'::regnamespace
  and has_function_privilege(client.role, p.oid, 'execute')
  and not p.proname = any (client.besides)
  and not exists (
    select from loom.operation o
    where o.function_name = p.proname
      and (client.role, o.role) in (
        ('loom_viewer', 'viewer'), ('loom_writer', 'viewer'), ('loom_writer', 'writer'),
        ('loom_admin', 'viewer'), ('loom_admin', 'writer'), ('loom_admin', 'admin')
      )
  )
order by 1, 2;
