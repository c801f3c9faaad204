create or replace function loom._within(p_bound text, p_named text, p_write boolean, p_field text)
returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
begin
  if p_bound is null or p_named = p_bound or (p_named = '-' and not p_write) then
    return p_named;
  end if;
  raise exception using errcode = 'LM302', message = 'The caller may not do this.',
    detail = jsonb_build_object('reason', p_field || ' is outside the token''s bounds')::text,
    hint = 'A pinned token reads its own rows and those of -, and writes its own only.';
end
$$;
comment on function loom._within(text, text, boolean, text) is
  'The user or session a request names. LM302 when a pinned token names a user or session that is not its own; reading - is allowed, writing it is not.';
