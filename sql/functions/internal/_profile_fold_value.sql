create or replace function loom._profile_fold_value(p_answer jsonb) returns jsonb
language plpgsql immutable
as $$
begin
  if p_answer <> 'null' and (jsonb_typeof(p_answer) <> 'string' or p_answer #>> '{}' !~ '\S' collate "default") then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_answer', 'reason', 'must be a text that says something')::text,
      hint = 'An answer without text is a failure, not an empty section.';
  end if;
  return coalesce(nullif(p_answer, 'null'), '""');
end
$$;
comment on function loom._profile_fold_value(jsonb) is
  'The section''s text; empty where there is nothing to tell. LM001 for an answer that is no text, or says nothing.';
