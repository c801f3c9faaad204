create or replace function loom._schema_keywords(p_path text, p_schema jsonb, p_known text[]) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_constraints constant text[] := '{enum,pattern,minLength,maxLength,minimum,maximum,items,maxItems}';
  v_keyword text;
begin
  if p_schema - p_known = '{}' then
    return null;
  end if;
  select min(keyword collate "C") into v_keyword from jsonb_object_keys(p_schema - p_known) as keyword;
  return loom._schema_fault(p_path || '.' || v_keyword,
    case when v_keyword = any (v_constraints) and 'description' = any (p_known)
      then format('does not go with type %s', p_schema ->> 'type')
      else 'is not a keyword that is taken here'
    end);
end
$$;
comment on function loom._schema_keywords(text, jsonb, text[]) is
  'The fault of a part of a profile schema that has another keyword than the known ones: the first such, by name. Null when it has none.';
