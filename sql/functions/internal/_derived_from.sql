create or replace function loom._derived_from(p_row loom.memory, p_at timestamptz) returns uuid[]
language plpgsql volatile
as $$
declare
  v_ids uuid[];
  v_locked loom.memory;
begin
  -- Only what the worker wrote is named there, so a forged trace reaches and blocks nothing.
  v_ids := array(
    select distinct memory_id from loom.memory_source
    where org = p_row.org and source_id = p_row.memory_id order by memory_id);
  select * into v_locked from loom.memory as derived
  where org = p_row.org and memory_id = any (v_ids) and loom._memory_locked(derived, p_at)
    and author = 'worker'
  order by memory_key limit 1;
  if found then
    raise exception using errcode = 'LM205', message = 'The row is locked.',
      detail = jsonb_build_object('reason', v_locked.lock_reason, 'until', loom._ts(v_locked.lock_until),
        'memory_key', v_locked.memory_key)::text,
      hint = 'A row made from this one is locked: unlock it first.';
  end if;
  return v_ids;
end
$$;
comment on function loom._derived_from(loom.memory, timestamptz) is
  'Ids of the rows whose versions the worker made from this one. LM205 when one of them is locked.';
