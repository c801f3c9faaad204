create or replace function loom._model_stop(p_org text, p_at timestamptz) returns text
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_cap bigint;
begin
  perform from loom.org_setting where org = p_org and not model_calls;
  if found then
    return 'MODEL_CALLS_OFF';
  end if;
  select value into v_cap from loom.setting where name = 'model_daily_token_cap';
  if v_cap <= (
    select coalesce(sum(prompt_tokens + completion_tokens), 0) from loom.model_day
    where org = p_org and day = (p_at at time zone 'UTC')::date
  ) then
    return 'MODEL_TOKEN_CAP';
  end if;
  return null;
end
$$;
comment on function loom._model_stop(text, timestamptz) is
  'Why no model is to be called for an org: its admin has switched calls off, or it has used the tokens of the day (UTC). Null: one may be.';
