create or replace function loom._loom_reach(p_caller loom.caller, p_request jsonb) returns loom.caller
language plpgsql immutable
as $$
declare
  v_scope text := coalesce(loom._choice(p_request, 'readScope', '{own_user,own_session,namespace}'), 'own_user');
begin
  if v_scope = 'namespace' then
    if p_caller.bound_user is not null then
      raise exception using errcode = 'LM302', message = 'The caller may not do this.',
        detail = jsonb_build_object('reason', 'readScope is outside the token''s bounds')::text,
        hint = 'A pinned token reads its own rows and those of -.';
    end if;
    return p_caller;
  end if;
  -- Threads and turns belong to no session, and so are in reach of each.
  p_caller.users := case p_caller.user_id when '-' then array['-'] else array[p_caller.user_id, '-'] end;
  return p_caller;
end
$$;
comment on function loom._loom_reach(loom.caller, jsonb) is
  'Whose threads and turns a read of a loom reaches: those of the named user and of -, or with readScope namespace everyone''s. Errors: LM001, LM302.';
