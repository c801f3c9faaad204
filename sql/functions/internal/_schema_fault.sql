create or replace function loom._schema_fault(p_path text, p_reason text) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  return jsonb_build_object('path', left(p_path, 200), 'reason', p_reason);
end
$$;
comment on function loom._schema_fault(text, text) is
  'What is wrong with a profile schema and where: the path, cut to 200 characters, is all that it repeats of the caller''s text.';
