create or replace function loom.model_daily_token_cap(p_tokens bigint) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
begin
  if p_tokens < 1 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_tokens', 'reason', 'must be 1 or more, or null')::text,
      hint = 'An admin of an org switches its model calls off by org.set_model_calls.';
  end if;
  if p_tokens is null then
    delete from loom.setting where name = 'model_daily_token_cap';
  else
    insert into loom.setting (name, value) values ('model_daily_token_cap', p_tokens::text)
    on conflict (name) do update set value = excluded.value;
  end if;
  update loom.pass set not_before = null;  -- a higher cap makes users due who were not
end
$$;
comment on function loom.model_daily_token_cap(bigint) is
'Sets how many tokens of a model each org may use in a day (UTC), null for any number: the setting LOOM_MODEL_DAILY_TOKEN_CAP, as the applier found it. At the cap its users wait; calls under way are ended, so that it may be passed by these. For the migration login alone.

Errors: LM001 less than 1.';
