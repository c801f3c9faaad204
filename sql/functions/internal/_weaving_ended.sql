create or replace function loom._weaving_ended(p_weaving loom.loom_weaving, p_outcome text, p_error text, p_at timestamptz)
returns void
language plpgsql volatile
as $$
declare
  v_org text := p_weaving.org;
  v_untouched boolean := p_weaving.added + p_weaving.revised + p_weaving.retired = 0;
begin
  delete from loom.loom_weaving_part where org = v_org and weaving_id = p_weaving.weaving_id;
  if p_outcome = 'released' and v_untouched and p_weaving.cause = 'night' then
    delete from loom.loom_weaving where org = v_org and weaving_id = p_weaving.weaving_id;
    return;
  end if;
  if p_outcome = 'released' and v_untouched and not exists (
    select from loom.loom_weaving
    where org = v_org and loom_id = p_weaving.loom_id and state = 'queued' and dry_run = p_weaving.dry_run
  ) then
    update loom.loom_weaving set state = 'queued', started_at = null where org = v_org and weaving_id = p_weaving.weaving_id;
    return;
  end if;
  update loom.loom_weaving
  set state = case p_outcome when 'done' then 'done' else 'failed' end, error = p_error, ended_at = p_at
  where org = v_org and weaving_id = p_weaving.weaving_id;
end
$$;
comment on function loom._weaving_ended(loom.loom_weaving, text, text, timestamptz) is
  'Ends a weaving. One that a worker gives back before it changed anything leaves no trace, or is queued again where somebody asked for it.';
