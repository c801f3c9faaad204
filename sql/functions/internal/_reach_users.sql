create or replace function loom._reach_users(p_caller loom.caller, p_request jsonb) returns loom.caller
language plpgsql immutable
as $$
declare
  v_scope text := coalesce(loom._choice(p_request, 'read_scope', '{own_user,own_session,namespace}'),
    case when p_caller.bound_session is null then 'own_user' else 'own_session' end);
begin
  if v_scope = 'namespace' and p_caller.bound_user is not null then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'read_scope is outside the token''s bounds')::text,
      hint = 'A pinned token reads its own rows and those of -.';
  end if;
  if v_scope = 'own_session' and p_caller.session_id = '-' and p_caller.bound_session is null then
    raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
      detail = jsonb_build_object('field', 'session_id')::text, hint = 'Name the field.';
  end if;
  if v_scope <> 'namespace' then
    p_caller.users := case p_caller.user_id when '-' then array['-'] else array[p_caller.user_id, '-'] end;
  end if;
  if v_scope = 'own_session' or p_caller.bound_session is not null then
    p_caller.sessions := array[p_caller.session_id, '-'];
  end if;
  return p_caller;
end
$$;
comment on function loom._reach_users(loom.caller, jsonb) is
  'Whose rows a read reaches: those of the named user and of - (own_user, the default), of the session and - (own_session), or all (namespace); never beyond a pinned token''s bounds. Errors: LM001, LM003, LM302.';
