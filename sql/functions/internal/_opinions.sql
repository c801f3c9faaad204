create or replace function loom._opinions(p_settings jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_opinions jsonb;
begin
  if coalesce(jsonb_typeof(p_settings), 'null') <> 'object' then
    return '{}';
  end if;
  select jsonb_object_agg(key, value) into v_opinions
  from jsonb_each(p_settings) where value not in ('null', '""');
  return coalesce(v_opinions, '{}');
end
$$;
comment on function loom._opinions(jsonb) is 'Of an object what says anything: neither null nor an empty text.';
