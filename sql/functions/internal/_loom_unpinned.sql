create or replace function loom._loom_unpinned(p_caller loom.caller) returns void
language plpgsql immutable
as $$
begin
  if p_caller.bound_user is not null then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'the token is pinned to a user')::text,
      hint = 'A pinned token binds looms, reads them, and adds its own user''s threads and turns.';
  end if;
end
$$;
comment on function loom._loom_unpinned(loom.caller) is
  'LM302 for a token that is pinned to a user: what concerns a loom as a whole is not an end user''s to change.';
