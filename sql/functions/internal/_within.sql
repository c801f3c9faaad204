create or replace function loom._within(p_bound text, p_named text, p_write boolean, p_field text)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_bound is null or p_named = p_bound or (p_named = '-' and not p_write) then p_named
    else loom._within_refused(p_named, p_field)
  end
$$;
comment on function loom._within(text, text, boolean, text) is
  'The user or session a request names. LM302 when a pinned token names a user or session that is not its own; reading - is allowed, writing it is not.';
