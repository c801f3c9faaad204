create or replace function loom._schema_scalar(p_path text, p_schema jsonb) returns jsonb
language plpgsql immutable
as $$
declare
  v_type text := p_schema ->> 'type';
  v_most numeric := case v_type when 'integer' then 9007199254740992 end;
  v_fault jsonb := loom._schema_keywords(p_path, p_schema, '{type,title,description}'::text[] || case
    when v_type = 'string' then '{enum,pattern,minLength,maxLength}'::text[]
    when v_type in ('number', 'integer') then '{minimum,maximum}'::text[]
    else '{}'::text[]
  end);
begin
  if v_fault is not null then
    return v_fault;
  end if;
  if v_type = 'string' then
    return loom._schema_string(p_path, p_schema);
  end if;
  v_fault := coalesce(
    loom._schema_number(p_path || '.minimum', p_schema -> 'minimum', -v_most, v_most),
    loom._schema_number(p_path || '.maximum', p_schema -> 'maximum', -v_most, v_most));
  return coalesce(v_fault, loom._schema_range(p_path, p_schema, 'minimum', 'maximum'));
end
$$;
comment on function loom._schema_scalar(text, jsonb) is
  'The fault in the keywords of a string, number, integer or boolean of a profile schema, null when there is none.';
