create or replace function loom._loom_rule_of(p_loom loom.loom) returns loom.loom_rule
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_loom.org;
  v_name text := p_loom.namespace;
  v_namespace loom.namespace;
  v_rule loom.loom_rule;
begin
  select * into v_namespace from loom.namespace where org = v_org and name = v_name;
  v_rule.night_weaving := coalesce(p_loom.night_weaving, v_namespace.night_weaving, loom._night_weaving_default());
  v_rule.quiet := make_interval(mins => coalesce(p_loom.quiet_minutes, v_namespace.quiet_minutes,
    loom._night_weaving_setting('quiet_minutes', 5)::integer));
  v_rule.model := coalesce(p_loom.weaver_model, v_namespace.weaver_model, p_loom.activity_model);
  return v_rule;
end
$$;
comment on function loom._loom_rule_of(loom.loom) is
  'Whether a loom weaves at night, after how long a quiet and by which model: its own settings before its namespace''s before the installation''s. The model of the last run stands last; null is the worker''s own.';
