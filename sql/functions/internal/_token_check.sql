create or replace function loom._token_check(p_token loom.token, p_caller loom.caller) returns void
language plpgsql immutable
as $$
declare
  v_field text;
  v_reason text;
begin
  if p_token.namespace <> p_caller.bound_namespace then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'namespace is not the token''s')::text,
      hint = 'A token mints only within its own bounds.';
  end if;
  case
    when p_token.role is null then
      v_field := 'role'; v_reason := 'is required';
    when p_token.role = 'admin' and p_token.read_user_id is not null then
      v_field := 'role'; v_reason := 'a token pinned to a user cannot be admin';
    when p_token.session_id is not null and p_token.read_user_id is null then
      v_field := 'session_id'; v_reason := 'needs read_user_id';
    when p_token.read_user_id = '-' then
      v_field := 'read_user_id'; v_reason := 'must name a user';
    when p_token.session_id = '-' then
      v_field := 'session_id'; v_reason := 'must name a session';
    when p_token.namespace = '-' then
      v_field := 'namespace'; v_reason := 'must name a namespace';
    else
      return;
  end case;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', v_field, 'reason', v_reason)::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._token_check(loom.token, loom.caller) is
  'Refuses a token that could reach further than its minter (LM302) or whose bounds contradict each other (LM001).';
