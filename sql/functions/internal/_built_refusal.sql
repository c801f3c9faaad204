create or replace function loom._built_refusal(p_row loom.memory) returns text
language plpgsql volatile
as $$
declare
  v_caller loom.caller;
  v_hit loom.blacklist;
begin
  v_caller.org := p_row.org;
  v_caller.namespace := p_row.namespace;
  v_hit := loom._blacklist_hit(v_caller, loom._leaves(p_row.value));
  return case when v_hit.blacklist_id is not null then 'BLACKLISTED' end;
end
$$;
comment on function loom._built_refusal(loom.memory) is
  'BLACKLISTED when what was built holds what must not be stored, else null.';
