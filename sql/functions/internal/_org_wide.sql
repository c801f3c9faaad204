create or replace function loom._org_wide(p_caller loom.caller) returns void
language plpgsql immutable
as $$
begin
  if p_caller.bound_namespace is not null then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'the token is bound to a namespace')::text,
      hint = 'This concerns the whole org and needs a token without a namespace bound.';
  end if;
end
$$;
comment on function loom._org_wide(loom.caller) is 'LM302 for a caller that is bound to one namespace.';
