create or replace function loom._loom_settings(p_loom loom.loom, p_request jsonb) returns loom.loom
language plpgsql immutable
as $$
declare
  v_settings jsonb := coalesce(p_request -> 'settings', 'null');
begin
  if v_settings = 'null' then
    return p_loom;
  end if;
  if jsonb_typeof(v_settings) <> 'object' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'settings', 'reason', 'must be an object')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  v_settings := loom._check_fields(v_settings, '{nightWeaving,quietMinutes,weaverModel}');
  if v_settings ? 'nightWeaving' then
    p_loom.night_weaving := loom._boolean(v_settings, 'nightWeaving');
  end if;
  if v_settings ? 'quietMinutes' then
    p_loom.quiet_minutes := loom._integer(v_settings, 'quietMinutes', 0, 1440);
  end if;
  if v_settings ? 'weaverModel' then
    p_loom.weaver_model := loom._identifier(v_settings, 'weaverModel');
  end if;
  return p_loom;
end
$$;
comment on function loom._loom_settings(loom.loom, jsonb) is
  'A loom with the settings of a request. Null is said on purpose here and means to inherit; what is left out stays. Errors: LM001, LM406.';
