create or replace function loom.night_weaving_settings(p_settings jsonb) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
begin
  p_settings := loom._check_fields(p_settings,
    '{default,quiet_minutes,interval_seconds,lease_seconds,max_retire_share}');
  insert into loom.setting (name, value)
  select 'night_weaving_' || name, case value when 'true' then 'on' when 'false' then 'off' else value end
  from jsonb_each_text(p_settings) as given (name, value)
  on conflict (name) do update set value = excluded.value;
end
$$;
comment on function loom.night_weaving_settings(jsonb) is
'Sets what holds for night weaving where looms and namespaces say nothing, and its waits and bounds for all workers: the settings LOOM_NIGHT_WEAVING_*, as the applier found them. What is left out stays. For the migration login alone.

Request: p_settings {default, quiet_minutes, interval_seconds, lease_seconds, max_retire_share}.
Errors: LM001 another field.';
