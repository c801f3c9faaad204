create or replace function loom._schema_text(p_path text, p_schema jsonb, p_required boolean) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  -- Every white space of Unicode, whatever the locale takes for one.
  v_blank constant text := E' \t\n\v\f\r\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008'
    '\u2009\u200A\u2028\u2029\u202F\u205F\u3000';
begin
  if p_required and not p_schema ? 'description' then
    return loom._schema_fault(p_path || '.description', 'is required');
  end if;
  if p_schema ? 'description' and jsonb_typeof(p_schema -> 'description') <> 'string' then
    return loom._schema_fault(p_path || '.description', 'must be a string');
  end if;
  if p_schema ? 'description' and btrim(p_schema ->> 'description', v_blank) = '' then
    return loom._schema_fault(p_path || '.description', 'must not be blank');
  end if;
  if p_schema ? 'title' and jsonb_typeof(p_schema -> 'title') <> 'string' then
    return loom._schema_fault(p_path || '.title', 'must be a string');
  end if;
  return null;
end
$$;
comment on function loom._schema_text(text, jsonb, boolean) is
  'The fault in the description and title of a property or its items, null when there is none. A property must be described: the model reads it.';
