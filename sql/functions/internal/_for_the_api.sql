create or replace function loom._for_the_api() returns boolean
language plpgsql stable
as $$
begin
  if session_user <> 'loom_gateway' then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'only the API does this')::text,
      hint = 'It is done by itself as the API answers a request.';
  end if;
  return true;
end
$$;
comment on function loom._for_the_api() is 'True; LM302 for any caller but the API, which no client can make call an operation without a path.';
