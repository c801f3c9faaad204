create or replace function loom._embedding_list(p_rows loom.memory[]) returns void
language plpgsql volatile
as $$
declare
  v_now timestamptz := loom._now();
begin
  insert into loom.embedding_due (org, memory_id, model, namespace, user_id, due_at)
  select org, memory_id, model, namespace, user_id, v_now
  from unnest(p_rows) cross join loom.embedding_model
  where state in ('building', 'active')
  order by org, memory_id, model
  -- Whoever holds a lease on it has the old text: it is due again at once, and what they bring is refused.
  on conflict (org, memory_id, model) do update
    set due_at = excluded.due_at, lease_id = null, attempts = 0, last_error = null;
  perform loom._ring();
end
$$;
comment on function loom._embedding_list(loom.memory[]) is 'Lists rows as due for a vector of each model in use.';
