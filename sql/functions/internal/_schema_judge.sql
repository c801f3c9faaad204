create or replace function loom._schema_judge(p_schema jsonb) returns jsonb
language plpgsql immutable
as $$
declare
  v_properties jsonb;
  v_count bigint;
  v_name text;
  v_property jsonb;
  v_fault jsonb;
begin
  if jsonb_typeof(p_schema) is distinct from 'object' then
    return loom._schema_fault('$', 'must be a JSON object');
  end if;
  v_properties := p_schema -> 'properties';
  v_fault := loom._schema_keywords('$', p_schema, '{type,properties,additionalProperties,title}');
  v_fault := coalesce(v_fault, case
    when p_schema -> 'type' is distinct from '"object"' then loom._schema_fault('$.type', 'must be "object"')
    when p_schema -> 'additionalProperties' <> 'false'
      then loom._schema_fault('$.additionalProperties', 'may only be false')
    when jsonb_typeof(p_schema -> 'title') <> 'string' then loom._schema_fault('$.title', 'must be a string')
    when jsonb_typeof(v_properties) is distinct from 'object'
      then loom._schema_fault('$.properties', 'must be an object of 1 to 64 properties')
  end);
  if v_fault is not null then
    return v_fault;
  end if;
  select count(*) into v_count from jsonb_object_keys(v_properties);
  if v_count not between 1 and 64 then
    return loom._schema_fault('$.properties', 'must be an object of 1 to 64 properties');
  end if;
  for v_name, v_property in
    select name, property from jsonb_each(v_properties) as declared (name, property) order by name collate "C"
  loop
    v_fault := coalesce(loom._schema_name('$.properties.' || v_name, v_name),
      loom._schema_property('$.properties.' || v_name, v_property, false));
    exit when v_fault is not null;
  end loop;
  return coalesce(v_fault, loom._schema_size(p_schema));
end
$$;
comment on function loom._schema_judge(jsonb) is
  'What is wrong with a profile schema, as {path, reason}; null when nothing is. Nothing is printed or hashed before each keyword is known and each number judged.';
