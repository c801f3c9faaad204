create or replace function loom._schema_property(p_path text, p_schema jsonb, p_is_item boolean) returns jsonb
language plpgsql immutable
as $$
declare
  v_types constant text[] := case when p_is_item then '{string,number,integer,boolean}'
    else '{string,number,integer,boolean,array}' end;
  v_fault jsonb;
begin
  v_fault := case
    when jsonb_typeof(p_schema) <> 'object' then loom._schema_fault(p_path, 'must be an object')
    when not p_schema ? 'type' then loom._schema_fault(p_path || '.type', 'is required')
    when jsonb_typeof(p_schema -> 'type') <> 'string' or not p_schema ->> 'type' = any (v_types)
      then loom._schema_fault(p_path || '.type', 'must be one of ' || array_to_string(v_types, ', '))
  end;
  if v_fault is null and p_schema ->> 'type' <> 'array' then
    v_fault := loom._schema_scalar(p_path, p_schema);
  elsif v_fault is null then
    v_fault := loom._schema_keywords(p_path, p_schema, '{type,title,description,items,maxItems}');
  end if;
  if v_fault is null then
    v_fault := loom._schema_text(p_path, p_schema, not p_is_item);
  end if;
  if v_fault is not null or p_schema ->> 'type' <> 'array' then
    return v_fault;
  end if;
  if not p_schema ? 'items' then
    return loom._schema_fault(p_path || '.items', 'is required');
  end if;
  return coalesce(loom._schema_number(p_path || '.maxItems', p_schema -> 'maxItems', 1, 50),
    loom._schema_property(p_path || '.items', p_schema -> 'items', true));
end
$$;
comment on function loom._schema_property(text, jsonb, boolean) is
  'The fault in one property of a profile schema, or in the items of an array, null when there is none.';
