create or replace function loom._audit(p_org text, p_actor text, p_at timestamptz, p_action text, p_subject jsonb)
returns void
language plpgsql volatile
as $$
begin
  insert into loom.audit (org, at, actor, action, subject)
  values (p_org, p_at, p_actor, p_action, p_subject);
end
$$;
comment on function loom._audit(text, text, timestamptz, text, jsonb) is
  'Records an administrative act. The subject names what was acted on (ids, roles, codes), never a value.';
