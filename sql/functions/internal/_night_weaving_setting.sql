create or replace function loom._night_weaving_setting(p_name text, p_default numeric) returns numeric
language plpgsql stable strict
as $$
declare
  v_value numeric;
begin
  select value into v_value from loom.setting where name = 'night_weaving_' || p_name;
  return coalesce(v_value, p_default);
end
$$;
comment on function loom._night_weaving_setting(text, numeric) is
  'A number of LOOM_NIGHT_WEAVING_*, as the applier found it; its default where it has not been put there.';
