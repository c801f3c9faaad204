create or replace function loom._schema_check(p_schema jsonb) returns jsonb
language plpgsql immutable
as $$
declare
  v_fault jsonb := loom._schema_judge(p_schema);
begin
  if v_fault is null then
    -- Kept as it is hashed: 1e-1000 counts as 0, but would print a thousand digits at every read.
    return loom._canonical(p_schema, '$')::jsonb;
  end if;
  raise exception using errcode = 'LM405', message = 'The profile schema is not valid.',
    detail = jsonb_build_object('path', v_fault -> 'path', 'reason', v_fault -> 'reason')::text,
    hint = 'Correct it; the reference of profile_schema.set says what a schema may hold.';
end
$$;
comment on function loom._schema_check(jsonb) is
  'A profile schema as it is kept: as its canonical JSON reads. LM405 with path and reason when it is not valid.';
