create or replace function loom._memory_remark(
  p_caller loom.caller, p_old loom.memory, p_new loom.memory, p_change text, p_at timestamptz, p_dates_anew boolean
) returns jsonb
language plpgsql volatile
as $$
begin
  p_new.recorded_at := p_at;
  if p_dates_anew then
    p_new.changed_at := p_at;
  end if;
  return loom._memory_receipt(
    loom._memory_store(p_old, p_new, p_change, p_caller.actor), p_at, false, false);
end
$$;
comment on function loom._memory_remark(loom.caller, loom.memory, loom.memory, text, timestamptz, boolean) is
  'A new version with the same value that says something else about it; dated anew or not. Answers the receipt.';
