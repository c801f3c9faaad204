create or replace function loom.work_fail_namespace(p_org text, p_namespace text, p_kind text, p_schema_sha256 text)
returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_kind loom.work_kind := loom._kind_of_work(p_kind);
  v_now timestamptz := loom._now();
begin
  update loom.profile_schema
  set attempts = attempts + 1, wait_until = v_now + loom._backoff(v_kind, attempts + 1)
  where org = v_org and namespace = p_namespace and schema_sha256 = p_schema_sha256
    and coalesce(wait_until <= v_now, true);  -- once, however many workers have met it
end
$$;
comment on function loom.work_fail_namespace(text, text, text, text) is
'A namespace whose stored schema a worker cannot read: it waits, longer each time, and takes no place in a pass until then or until its schema changes. Its users read no_schema until then. Says nothing of a schema that has been replaced since. The first profile built under it ends its failures.

Request: p_schema_sha256, the hash of the schema that could not be read.
Errors: LM001.';
