create or replace function loom._structured_profile_sources(p_schema jsonb, p_sources jsonb, p_given uuid[]) returns jsonb
language plpgsql immutable
as $$
declare
  v_given text[] := p_given::text[];
  v_sources jsonb;
begin
  if jsonb_typeof(p_sources) <> 'object' then
    return '{}';
  end if;
  select jsonb_object_agg(property, (
    select coalesce(jsonb_agg(distinct id), '[]') from jsonb_array_elements_text(named) as id where id = any (v_given)))
  into v_sources
  from jsonb_each(p_sources) as told (property, named)
  where p_schema -> 'properties' ? property and jsonb_typeof(named) = 'array';
  return coalesce(v_sources, '{}');
end
$$;
comment on function loom._structured_profile_sources(jsonb, jsonb, uuid[]) is
  'Which facts the model named for each property: of the declared ones, and only facts that it was given.';
