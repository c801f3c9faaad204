create or replace function loom._embedding_lease(
  p_org text, p_model text, p_limit integer, p_lease uuid, p_at timestamptz, p_until timestamptz
) returns uuid[]
language plpgsql volatile
as $$
declare
  v_ids uuid[] := '{}';
  v_due loom.embedding_due;
begin
  for v_due in
    select * from loom.embedding_due
    where org = p_org and model = p_model and due_at <= p_at
    order by due_at, memory_id
    limit p_limit
    for update skip locked
  loop
    continue when v_due.attempts > 0 and v_ids <> '{}';
    v_ids := v_ids || v_due.memory_id;
    exit when v_due.attempts > 0;
  end loop;
  update loom.embedding_due set lease_id = p_lease, due_at = p_until, attempts = attempts + 1
  where org = p_org and model = p_model and memory_id = any (v_ids);
  return v_ids;
end
$$;
comment on function loom._embedding_lease(text, text, integer, uuid, timestamptz, timestamptz) is
  'Leases due texts: those never tried, or one that was.';
