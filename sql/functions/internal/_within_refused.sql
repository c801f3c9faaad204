create or replace function loom._within_refused(p_named text, p_field text) returns text
language plpgsql immutable parallel safe
as $$
begin
  raise exception using errcode = 'LM302', message = 'The caller may not do this.',
    detail = jsonb_build_object('reason', p_field || ' is outside the token''s bounds')::text,
    hint = 'A pinned token reads its own rows and those of -, and writes its own only.';
end
$$;
comment on function loom._within_refused(text, text) is 'The refusal of a user or session that is not the token''s. Always LM302.';
