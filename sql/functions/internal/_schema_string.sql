create or replace function loom._schema_string(p_path text, p_schema jsonb) returns jsonb
language plpgsql immutable
as $$
declare
  v_fault jsonb := coalesce(
    loom._schema_number(p_path || '.minLength', p_schema -> 'minLength', 0, 65536),
    loom._schema_number(p_path || '.maxLength', p_schema -> 'maxLength', 1, 65536));
  v_reason text;
begin
  v_fault := coalesce(v_fault, loom._schema_range(p_path, p_schema, 'minLength', 'maxLength'));
  if v_fault is null and p_schema ? 'pattern' then
    v_reason := case when jsonb_typeof(p_schema -> 'pattern') <> 'string' then 'must be a string'
      else loom._schema_pattern(p_schema ->> 'pattern') end;
    v_fault := case when v_reason is not null then loom._schema_fault(p_path || '.pattern', v_reason) end;
  end if;
  return coalesce(v_fault, loom._schema_enum(p_path, p_schema));
end
$$;
comment on function loom._schema_string(text, jsonb) is
  'The fault in the constraints of a string (minLength, maxLength, pattern, enum), null when there is none.';
