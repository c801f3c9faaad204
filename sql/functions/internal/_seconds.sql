create or replace function loom._seconds(p_settings jsonb, p_name text) returns interval
language plpgsql immutable
as $$
begin
  return make_interval(secs => (p_settings ->> p_name)::double precision);
end
$$;
comment on function loom._seconds(jsonb, text) is 'A setting in seconds as an interval; null when it is left out.';
