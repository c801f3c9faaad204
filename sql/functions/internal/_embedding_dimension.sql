create or replace function loom._embedding_dimension(p_items jsonb, p_dimension integer) returns integer
language plpgsql immutable
as $$
declare
  v_reason text;
  v_least integer;
  v_most integer;
begin
  if jsonb_typeof(p_items) is distinct from 'array' or jsonb_array_length(p_items) not between 1 and 256
    or jsonb_array_length(p_items) <> jsonb_array_length(jsonb_path_query_array(p_items,
      'strict $[*] ? (@.memory_id.type() == "string" && @.content_sha256.type() == "string"
        && @.embedding.type() == "array")')) then
    v_reason := 'must be a list of 1 to 256 objects with memory_id, content_sha256 and embedding';
  else
    select min(loom._vector_size(item -> 'embedding')), max(loom._vector_size(item -> 'embedding'))
    into v_least, v_most from jsonb_array_elements(p_items) as item;
    if v_least < 1 then
      v_reason := 'must be vectors of 1 to 16000 numbers that a vector can hold, not all zero';
    elsif v_least <> v_most or v_least <> p_dimension then
      v_reason := format('must be vectors of %s numbers each; there are some of %s', coalesce(p_dimension, v_least),
        case when v_least <> coalesce(p_dimension, v_most) then v_least else v_most end);
    end if;
  end if;
  if v_reason is not null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'items', 'reason', v_reason)::text,
      hint = 'A model''s vectors have one size. Another model is added under a name of its own.';
  end if;
  return v_least;
end
$$;
comment on function loom._embedding_dimension(jsonb, integer) is
  'The size of the vectors of a list, when all are alike and as given. LM001 otherwise.';
