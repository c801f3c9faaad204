create or replace function loom._schema_enum(p_path text, p_schema jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_enum jsonb := p_schema -> 'enum';
  v_least integer := coalesce((p_schema -> 'minLength')::integer, 0);
  v_most integer := coalesce((p_schema -> 'maxLength')::integer, 65536);
  v_place bigint;
begin
  if v_enum is null then
    return null;
  end if;
  if jsonb_typeof(v_enum) <> 'array' or v_enum = '[]' then
    return loom._schema_fault(p_path || '.enum', 'must be a list of one string or more');
  end if;
  -- So many distinct strings take more than the 16 KiB of a schema.
  if jsonb_array_length(v_enum) > 4096 then
    return loom._schema_fault(p_path || '.enum', 'has more than 4096 values');
  end if;
  select min(place) - 1 into v_place from jsonb_array_elements(v_enum) with ordinality as listed (element, place)
  where jsonb_typeof(element) <> 'string';
  if v_place is not null then
    return loom._schema_fault(format('%s.enum[%s]', p_path, v_place), 'must be a string');
  end if;
  select min(place) - 1 into v_place from (
    select place, lag(place) over (partition by element collate "C" order by place) as former
    from jsonb_array_elements_text(v_enum) with ordinality as listed (element, place)
  ) as compared
  where former is not null;
  if v_place is not null then
    return loom._schema_fault(format('%s.enum[%s]', p_path, v_place), 'stands there twice');
  end if;
  select min(place) - 1 into v_place
  from jsonb_array_elements_text(v_enum) with ordinality as listed (element, place)
  where char_length(element) not between v_least and v_most;
  return case when v_place is not null then loom._schema_fault(format('%s.enum[%s]', p_path, v_place),
    'is not within minLength and maxLength') end;
end
$$;
comment on function loom._schema_enum(text, jsonb) is
  'The fault in the enum of a string, whose lengths are judged before, null when there is none: distinct strings, each one as long as a value may be.';
