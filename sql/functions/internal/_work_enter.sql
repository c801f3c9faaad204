create or replace function loom._work_enter(p_org text) returns text
language plpgsql volatile
as $$
begin
  if p_org is null or p_org in ('', '-', '*') then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_org', 'reason', 'must name an org')::text,
      hint = 'loom.work_due says where there is work.';
  end if;
  return set_config('loom.org', p_org, true);
end
$$;
comment on function loom._work_enter(text) is
  'What _enter is to operations: sets the org that row-level security tests for the rest of the transaction. LM001.';
