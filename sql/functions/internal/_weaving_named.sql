create or replace function loom._weaving_named(p_loom loom.loom, p_weaving_id uuid) returns loom.loom_weaving
language plpgsql stable
as $$
declare
  v_org text := p_loom.org;
  v_weaving loom.loom_weaving;
begin
  select * into v_weaving from loom.loom_weaving where org = v_org and weaving_id = p_weaving_id;
  if v_weaving.loom_id is distinct from p_loom.loom_id then
    raise exception using errcode = 'LM105', message = 'There is no such weaving.',
      hint = 'The loom''s weavings are listed by looms.weaving_list.';
  end if;
  return v_weaving;
end
$$;
comment on function loom._weaving_named(loom.loom, uuid) is 'A weaving of the loom. LM105.';
