create or replace function loom._reach_refuse(p_op loom.operation, p_grant jsonb, p_caller loom.caller) returns void
language plpgsql immutable
as $$
declare
  v_detail jsonb := jsonb_build_object('reason', 'namespace is not the token''s');
  v_hint text := 'This token reaches only its own namespace.';
begin
  if p_caller.org <> p_grant ->> 'org' then
    v_detail := jsonb_build_object('reason', 'org is not the token''s');
    v_hint := 'A token reaches only its own org.';
  elsif loom._role_rank(p_grant ->> 'role') < loom._role_rank(p_op.role) then
    v_detail := jsonb_build_object('reason', 'role', 'needed', p_op.role);
    v_hint := 'The operation needs a higher role.';
  elsif p_caller.namespace is null or p_caller.namespace = '-' then
    raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
      detail = jsonb_build_object('field', 'namespace')::text, hint = 'Name the field.';
  end if;
  raise exception using errcode = 'LM302', message = 'The caller may not do this.', detail = v_detail::text,
    hint = v_hint;
end
$$;
comment on function loom._reach_refuse(loom.operation, jsonb, loom.caller) is
  'The refusal of a caller whose org, role or namespace an operation is not for (LM302), or that names no namespace (LM003).';
